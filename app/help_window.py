"""The help: a window beside the others, with a list of pages and the page that is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QSplitter, QTextBrowser, QWidget

from mlxdecoder.app.help_pages import pages

LIST, TEXT = 220, 560  # px


class HelpWindow(QDialog):
    """Shows the pages; those of the web are left to the browser, when somebody follows a link."""

    def __init__(self, parent: QWidget | None = None, keys: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(parent)
        self.setWindowTitle("What this shows")
        self.setModal(False)
        self._pages = pages(keys)
        self.list = QListWidget()
        self.list.setAccessibleName("Pages of the help")
        self.list.addItems([page.title for page in self._pages])
        self.list.setWordWrap(True)
        self.text = QTextBrowser()
        self.text.setAccessibleName("Page")
        self.text.setOpenExternalLinks(True)
        self.text.setTabChangesFocus(True)
        self.text.document().setDocumentMargin(16)
        self._lay_out()
        self.list.currentRowChanged.connect(self._show_page)
        self.list.setCurrentRow(0)

    def show_page(self, title: str = "") -> None:
        """Show the page with this title; without one, the page that was shown last."""
        titles = [page.title for page in self._pages]
        if title:
            self.list.setCurrentRow(titles.index(title))
        self.show()
        self.raise_()
        self.activateWindow()
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # Links keep the colours, and headings the size, that held when the page was put in.
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "text"):
            self._show_page()

    @Slot()
    def _show_page(self) -> None:
        page = self._pages[max(self.list.currentRow(), 0)]
        self.text.setMarkdown(page.text)
        self.text.setAccessibleDescription(page.title)

    def _lay_out(self) -> None:
        parts = QSplitter()
        parts.setChildrenCollapsible(False)
        for stretch, part in enumerate((self.list, self.text)):
            parts.addWidget(part)
            parts.setStretchFactor(stretch, stretch)
        parts.setSizes([LIST, TEXT])
        row = QHBoxLayout(self)
        row.addWidget(parts)
        self.resize(LIST + TEXT, 600)
