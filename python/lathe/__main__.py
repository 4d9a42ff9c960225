"""python -m lathe: the command line."""
from lathe._libraries import main

main()
