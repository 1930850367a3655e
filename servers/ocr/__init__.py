"""An MCP server that reads text off pictures: images and the pages of PDFs, with Tesseract."""

from servers.ocr.app import server

__all__ = ["server"]
