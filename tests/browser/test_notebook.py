"""A notebook is executed, and its output opened in the browser."""

import json
from pathlib import Path

from tests.browser.helpers import tokens

CODE = """
from tests.inspection.fakes import random_map
random_map(5)
"""


def test_a_map_that_stands_alone_in_a_cell_is_the_page(open_page, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    root = Path(__file__).parents[2]
    setup = f"import sys; sys.path[:0] = {json.dumps([str(root), str(root / 'src')])}"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(setup), nbformat.v4.new_code_cell(CODE)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (output,) = notebook.cells[1].outputs
    (tmp_path / "output.html").write_text(output.data["text/html"], encoding="utf-8")
    page = open_page((tmp_path / "output.html").as_uri())
    frame = page.frame_locator("iframe")
    tokens(frame, 1).nth(1).click()
    assert frame.locator(".cone").count() > 0
    assert frame.locator(".thumbnail").count() == 6, "three layers of two heads"
