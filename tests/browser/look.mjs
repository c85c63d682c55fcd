// Opens pages in Chromium, light and dark, on a desktop and on a phone, and prints as JSON what a reader would meet:
//   node look.mjs CHROMIUM MODULES PICTURES PAGE...
// MODULES is the folder in which playwright-core and axe-core are installed, PICTURES one for screenshots, or "".
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [browserPath, modules, pictures, ...pages] = process.argv.slice(2);
const require = createRequire(resolve(modules, "node_modules", "any.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const SCREENS = { desktop: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"];

const browser = await chromium.launch({ executablePath: browserPath, args: FLAGS });
const looks = [];
for (const path of pages) {
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: screen === "phone" ? 2 : 1 });
      const page = await context.newPage();
      const complaints = [], requests = [];
      page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
      page.on("request", (request) => requests.push(request.url()));
      await page.goto(pathToFileURL(path).href, { waitUntil: "load" });
      const numbers = await page.$$eval("data", (all) => all.map((one) => [one.getAttribute("value"), one.innerText]));
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const name = basename(path, ".html");
      if (pictures) {
        await page.screenshot({ path: join(pictures, `${name}-${screen}-${colorScheme}.png`), fullPage: true });
        if (screen === "desktop" && colorScheme === "dark") {
          await page.pdf({ path: join(pictures, `${name}.pdf`), format: "A4" });
        }
      }
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations", "incomplete"] }));
      const findings = found.violations.map(({ id, impact, help, nodes }) => ({
        id, impact, help, where: nodes.slice(0, 5).map((node) => node.html.slice(0, 200)), number: nodes.length,
      }));
      const unsure = found.incomplete.map(({ id, nodes }) => `${id} (${nodes.length})`);
      looks.push({
        page: name, screen, colours: colorScheme, complaints, requests, numbers, overflow, findings, unsure,
        passes: found.passes.length,
      });
      await context.close();
    }
  }
}
await browser.close();
console.log(JSON.stringify(looks));
