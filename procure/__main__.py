"""``python -m procure``: the command line where no script is installed."""

import sys

from procure.cli import main

if __name__ == "__main__":
    sys.exit(main())
