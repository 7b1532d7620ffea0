"""Report pages of pipelines: one file, light and dark, printable, without scripts or anything to fetch.

`markup` escapes, `page` is the frame, `parts` has what pages are made of, `charts` and `timeline` draw SVG, `diff`
colours patches. A page is made so:

    files = PagePart("files", "Files", table(Columns(("file", "size")), rows))
    page("Download report", [files], Lead("12 of 12 files are on disk.", Tone.GOOD))
"""
