"""Sites as a file says that they shall be: what is there is told so, and changed until it is so.

A section that is written is the whole truth of what it is about, and what it leaves out is as usual; a section that is
missing is left as it is. Sites that are not named are not touched. Secrets stay where they are named without a text.
"""
