# SPDX-License-Identifier: Apache-2.0
"""`python -m ascend_deepep`, the same as the console script, for an interpreter that is named. Layer: Python."""

from ascend_deepep.cli import main

if __name__ == "__main__":
    main()
