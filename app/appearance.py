"""Colours and letters: those of the system, or those of the settings where the user wants others."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

from mlxdecoder.app.settings import Settings, Theme

SCHEMES: dict[Theme, Qt.ColorScheme] = {
    "system": Qt.ColorScheme.Unknown,
    "light": Qt.ColorScheme.Light,
    "dark": Qt.ColorScheme.Dark,
}
Role = QPalette.ColorRole
DARK = {
    Role.Window: "#26282b",
    Role.WindowText: "#e6e6e6",
    Role.Base: "#1c1d1f",
    Role.AlternateBase: "#303236",
    Role.ToolTipBase: "#3a3d42",
    Role.ToolTipText: "#f0f0f0",
    Role.PlaceholderText: "#9a9da3",
    Role.Text: "#e6e6e6",
    Role.Button: "#383b40",
    Role.ButtonText: "#e6e6e6",
    Role.BrightText: "#ffffff",
    Role.Light: "#4d5157",
    Role.Midlight: "#44474d",
    Role.Mid: "#55595f",
    Role.Dark: "#17181a",
    Role.Shadow: "#0c0d0e",
    Role.Highlight: "#2f6fbf",
    Role.HighlightedText: "#ffffff",
    Role.Link: "#7db4ff",
    Role.LinkVisited: "#c3a6ff",
    Role.Accent: "#5a9bf0",
}
FADED = "#7c8086"  # text of what cannot be used now


class Appearance:
    """Applies the settings to the app; knows what the system had before."""

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self._font, self._palette = QFont(app.font()), QPalette(app.palette())

    def apply(self, settings: Settings) -> None:
        """Give the app the theme and the letters that are set."""
        self._theme(settings.theme)
        font = QFont(self._font)
        if settings.font_size:
            font.setPointSize(settings.font_size)
        if font != self._app.font():
            self._app.setFont(font)

    def _theme(self, theme: Theme) -> None:
        hints = self._app.styleHints()
        hints.setColorScheme(SCHEMES[theme])
        # Some platforms cannot be told; there the colours are ours.
        if theme == "dark" and hints.colorScheme() != Qt.ColorScheme.Dark:
            self._app.setPalette(dark_palette())
        elif self._app.palette() == dark_palette():
            self._app.setPalette(self._palette)


def dark_palette() -> QPalette:
    """Light letters on a dark ground."""
    palette = QPalette()
    for role, colour in DARK.items():
        palette.setColor(role, QColor(colour))
    for role in (Role.WindowText, Role.Text, Role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(FADED))
    return palette
