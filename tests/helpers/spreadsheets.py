"""Spreadsheets written without a package: .xlsx and .ods, from rows of cells."""

import io
import zipfile
from datetime import datetime
from xml.sax.saxutils import escape

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODS = "application/vnd.oasis.opendocument.spreadsheet"


def xlsx(sheets):
    """The bytes of a workbook: by name, rows of texts, numbers, dates and None."""
    names = list(sheets)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="' + RELATIONS + '"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{TYPES}.styles+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" '
            f'ContentType="{TYPES}.worksheet+xml"/>'
            for n in range(len(names))
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        + "".join(
            f'<sheet name="{escape(name)}" sheetId="{n + 1}" r:id="r{n}"/>'
            for n, name in enumerate(names)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/>'
        + "".join(
            f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n in range(len(names))
        )
        + "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>',
    }
    for n, name in enumerate(names):
        rows = "".join(
            f'<row r="{number}">'
            + "".join(_xlsx_cell(number, j, cell) for j, cell in enumerate(row))
            + "</row>"
            for number, row in enumerate(sheets[name], 1)
        )
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return _archive(parts)


def _xlsx_cell(row, column, cell):
    place = f'r="{chr(65 + column)}{row}"'
    if cell is None or cell == "":
        return ""
    if isinstance(cell, datetime):
        days = (cell - datetime(1899, 12, 30)).total_seconds() / 86400
        return f'<c {place} s="1"><v>{days!r}</v></c>'
    if isinstance(cell, str):
        return f'<c {place} t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f"<c {place}><v>{cell!r}</v></c>"


def ods(sheets):
    """The bytes of an OpenDocument spreadsheet: as for `xlsx`."""
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(
            f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    content = (
        f'<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:table="{ODF}:table:1.0" '
        f'xmlns:text="{ODF}:text:1.0" office:version="1.2"><office:body><office:spreadsheet>'
        f"{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{ODS}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    return _archive(
        {"mimetype": ODS, "META-INF/manifest.xml": manifest, "content.xml": content}, head=""
    )


def _ods_cell(cell):
    if cell is None or cell == "":
        return "<table:table-cell/>"
    if isinstance(cell, datetime):
        value = f'office:value-type="date" office:date-value="{cell.isoformat()}"'
    elif isinstance(cell, str):
        value = 'office:value-type="string"'
    else:
        value = f'office:value-type="float" office:value="{cell!r}"'
    return f"<table:table-cell {value}><text:p>{escape(str(cell))}</text:p></table:table-cell>"


def _archive(parts, head='<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, head + text)
    return content.getvalue()
