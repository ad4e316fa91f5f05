"""The page that says whether a CDN helps: words, bars and tables from verdicts. Pure."""
