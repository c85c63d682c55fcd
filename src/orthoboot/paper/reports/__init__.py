"""Tables and figures of what the experiments found: these show numbers and simulate none."""
