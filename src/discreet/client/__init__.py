"""The client of a curator that runs as a service elsewhere; `dp.connect` opens one."""
