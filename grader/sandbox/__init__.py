"""The untrusted side, and the door to it: `Sandbox.call` runs a public driver beside student code and returns plain data."""
