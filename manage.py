#!/usr/bin/env python3
"""The service's commands: `manage.py help` lists them."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")
    execute_from_command_line(sys.argv)
