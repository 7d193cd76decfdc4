// Elements with text. A study's texts are never parsed as markup: nothing uses innerHTML.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

let sections = 0;

// A part of the page that screen readers find by its heading.
export function section(title, ...children) {
  const id = `section-${++sections}`;
  const heading = make("h2", { id, tabindex: "-1" }, title);
  return make("section", { "aria-labelledby": id }, heading, ...children);
}

// A rounded number with the exact value as an attribute.
export function numeral(value, text) {
  return value === null || value === undefined ? text : make("data", { value }, text);
}

// Wide tables scroll inside their region, so that the page does not. On narrow screens each row is a
// list of its cells, which repeat the names of their columns.
export function table(caption, columns, rows) {
  const head = make("tr", { role: "row" }, ...columns.map((name) => make("th", { scope: "col", role: "columnheader" }, name)));
  const body = rows.map((cells) => make("tr", { role: "row" }, ...cells.map((cell, place) =>
    make("td", { role: "cell", "data-column": columns[place] }, make("span", {}, cell)))));
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", { role: "table" }, make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...body)),
  );
}
