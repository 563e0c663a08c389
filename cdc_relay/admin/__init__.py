"""What an operator does once in a while: make things, look at them, repair them. Never part of the running loop."""
