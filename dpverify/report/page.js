"use strict";
// Filters, sorts and opens rows. The state is in the address: #?status=OPEN&q=word, or #place of a claim or bug.
(function () {
  const many = Number(document.currentScript.dataset.many), PAGE = 200;
  const at = (id) => document.getElementById(id);
  const table = at("table"), tools = at("tools"), fields = ["q", "status", "group", "sort", "attention"];
  const rows = Array.from(table.querySelectorAll("tr[data-s]")), bodies = Array.from(table.tBodies);
  const heads = bodies.map((body) => body.querySelector("tr.g")), flat = table.createTBody();
  const home = new Map(), opened = new Map(), packs = new Map();
  const order = Array.from(tools.elements.status.options, (option) => option.text);
  let shown = PAGE;
  rows.forEach((row) => {
    home.set(row.id, row);
    (row.dataset.b || "").split(" ").filter(Boolean).forEach((bug) => home.set(bug, row));
  });

  function text(row) {
    return (row.words = row.words || `${row.textContent} ${row.dataset.b || ""} ${heads[row.dataset.g]?.textContent || ""}`.toLowerCase());
  }
  function value(name) {
    const field = tools.elements[name];
    return !field ? "" : field.type === "checkbox" ? (field.checked ? "1" : "") : field.value;
  }
  const sorts = {
    status: (a, b) => order.indexOf(a.dataset.s) - order.indexOf(b.dataset.s),
    name: (a, b) => (a.id < b.id ? -1 : 1),
    ratio: (a, b) => b.dataset.r - a.dataset.r,
  };
  function draw() {
    const words = value("q").toLowerCase().split(" ").filter(Boolean), status = value("status"), group = value("group");
    const found = rows.filter((row) => (!status || row.dataset.s === status) && (!group || row.dataset.g === group) &&
      (!value("attention") || "x" in row.dataset) && words.every((word) => text(row).includes(word)));
    const sort = sorts[value("sort")];
    if (sort) found.sort(sort);
    const visible = found.slice(0, shown), parts = bodies.map(() => []), line = [];
    visible.forEach((row) => {
      const part = sort ? line : parts[row.dataset.g];
      part.push(row);
      if (opened.has(row.id)) part.push(opened.get(row.id));
    });
    bodies.forEach((body, i) => body.replaceChildren(...(parts[i].length && heads[i] ? [heads[i]] : []), ...parts[i]));
    flat.replaceChildren(...line);
    at("count").textContent = found.length === rows.length ? `${rows.length} rows` : `${found.length} of ${rows.length} rows`;
    tools.querySelector("button").hidden = !fields.some(value);
    at("none").hidden = found.length > 0;
    at("more").hidden = found.length <= shown;
    at("more").firstChild.textContent = `Show ${Math.min(PAGE, found.length - shown)} more of ${found.length}`;
    table.querySelectorAll("th[data-sort]").forEach((head) =>
      head.setAttribute("aria-sort", head.dataset.sort !== value("sort") ? "none" : sort === sorts.ratio ? "descending" : "ascending"));
    return found;
  }
  function remember() {
    const state = new URLSearchParams();
    fields.forEach((name) => value(name) && state.set(name, value(name)));
    history.replaceState(null, "", `#${String(state) ? `?${state}` : ""}`);
  }
  function clear() {
    fields.forEach((name) => {
      const field = tools.elements[name];
      if (field && field.type === "checkbox") field.checked = false;
      else if (field) field.value = "";
    });
  }
  function changed() {
    shown = PAGE;
    draw();
    remember();
  }

  async function piece(index) {
    const number = Math.floor(index / many);
    if (!packs.has(number)) packs.set(number, unpack(at(`pack-${number}`).textContent));
    return (await packs.get(number))[index % many];
  }
  async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed.trim()), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\0");
  }
  async function open(row) {
    if (opened.has(row.id)) return;
    const detail = document.createElement("tr"), cell = detail.insertCell();
    detail.className = "d";
    cell.colSpan = row.cells.length + Array.from(row.cells).reduce((sum, each) => sum + each.colSpan - 1, 0);
    opened.set(row.id, detail);
    row.classList.add("open");
    row.querySelector("a").setAttribute("aria-expanded", "true");
    row.after(detail);
    cell.textContent = "…";
    try {
      cell.innerHTML = await piece(Number(row.dataset.i));
    } catch (error) {
      cell.textContent = "This browser cannot unpack the evidence; it is in the JSON.";
    }
    cell.querySelectorAll("tr[data-i] a").forEach((link) => link.addEventListener("click", toggled));
  }
  function close(row) {
    opened.get(row.id).remove();
    opened.delete(row.id);
    row.classList.remove("open");
    row.querySelector("a").setAttribute("aria-expanded", "false");
  }
  function toggled(event) {
    const row = event.currentTarget.closest("tr");
    event.preventDefault();
    if (opened.has(row.id)) return close(row);
    history.replaceState(null, "", `#${row.id}`);
    open(row);
  }

  async function followed() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.startsWith("?")) {
      const state = new URLSearchParams(hash.slice(1));
      clear();
      fields.forEach((name) => {
        const field = tools.elements[name], given = state.get(name) || "";
        if (field && field.type === "checkbox") field.checked = Boolean(given);
        else if (field && (field.tagName === "INPUT" || Array.from(field.options).some((each) => each.value === given))) field.value = given;
      });
      shown = PAGE;
      draw();
      at("claims").scrollIntoView();
      return;
    }
    const row = home.get(hash);
    if (!row) return;
    if (!row.isConnected) {
      clear();
      shown = Math.max(PAGE, rows.indexOf(row) + 1);
      draw();
    }
    await open(row);
    if (row.id !== hash && at(hash)) await open(at(hash));
    (at(hash) || row).scrollIntoView();
  }

  table.querySelectorAll("tr[data-s] > th a").forEach((link) => {
    link.setAttribute("aria-expanded", "false");
    link.addEventListener("click", toggled);
  });
  [["status", 0], ["name", 1], ["ratio", 4]].forEach(([name, index]) => {
    const head = table.tHead.rows[0].cells[index], button = document.createElement("button");
    button.textContent = head.textContent;
    button.title = "Sort";
    head.replaceChildren(button);
    head.dataset.sort = name;
    button.addEventListener("click", () => {
      tools.elements.sort.value = value("sort") === name ? "" : name;
      changed();
    });
  });
  tools.hidden = false;
  tools.addEventListener("input", changed);
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("reset", () => setTimeout(changed));
  at("none").lastChild.addEventListener("click", () => tools.reset());
  at("more").firstChild.addEventListener("click", () => { shown += PAGE; draw(); });
  const measure = () => table.style.setProperty("--top", getComputedStyle(tools).position === "sticky" ? `${tools.offsetHeight}px` : "0px");
  addEventListener("resize", measure);
  addEventListener("hashchange", followed);
  draw();
  measure();
  followed();
})();
