"""A page about runs: curves, tables, maps and pictures, in one HTML file."""

from goexplore.report._pictures import RoomCell
from goexplore.report._report import ReportResult, write_report

__all__ = ["ReportResult", "RoomCell", "write_report"]
