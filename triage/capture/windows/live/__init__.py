"""What can only be imported on Windows: its calls, through ctypes, and what is built on them."""
