"use strict";
// On a narrow screen a table that is wider than the screen becomes cards: one for each row, each
// value with its column's heading. Without this such a table scrolls in itself.
(() => {
  const ROLES = {
    TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell", TH: "rowheader",
  };
  const narrow = window.matchMedia("(max-width: 48rem)");
  const tables = [...document.querySelectorAll(".scroll > table")].filter((table) => table.tHead);

  // A style that makes a table no table takes its meaning from screen readers, too: the roles stay.
  const name = (cell) => {
    const parts = [".model", ".variant"].map((part) => cell.querySelector(part)).filter(Boolean);
    return (parts.length ? parts : [cell]).map((part) => part.textContent.trim()).join(" ");
  };
  const label = (table) => {
    const headings = [...table.tHead.rows[0].cells].map(name);
    for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
      part.setAttribute("role", part.matches("thead th") ? "columnheader" : ROLES[part.tagName]);
    }
    for (const row of table.querySelectorAll("tbody tr")) {
      let column = 0;
      for (const cell of row.cells) {
        if (headings[column]) cell.dataset.label = headings[column];
        column += cell.colSpan;
      }
    }
  };
  const fit = () => {
    for (const table of tables) table.classList.remove("cards");
    if (!narrow.matches) return;
    for (const table of tables.filter((one) => one.parentElement.scrollWidth > one.parentElement.clientWidth)) {
      if (!table.hasAttribute("role")) label(table);
      table.classList.add("cards");
    }
  };
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    fit();
  });
  fit();
})();
