// Shows openapi.json: paths by tag, their parameters and bodies; GETs can be tried.

const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") node.addEventListener(...value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
};

const api = await (await fetch("/openapi.json")).json();
document.getElementById("about").textContent = `${api.info.description} Version ${api.info.version}.`;

const resolved = (schema) =>
  schema?.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema;

const typeOf = (schema) => {
  const found = resolved(schema) ?? {};
  if (found.anyOf) return found.anyOf.map(typeOf).filter((name) => name !== "null").join(" or ");
  return found.enum?.join(" | ") ?? found.const ?? found.type ?? found.title ?? "value";
};

const row = (name, type, text) =>
  make("tr", {}, make("td", {}, make("code", {}, name)), make("td", {}, type), make("td", {}, text ?? ""));

function bodyRows(operation) {
  const content = Object.values(operation.requestBody?.content ?? {})[0];
  let schema = resolved(content?.schema);
  if (schema?.anyOf) schema = resolved(schema.anyOf.find((each) => each.$ref)) ?? schema;
  const rows = Object.entries(schema?.properties ?? {});
  return rows.map(([name, part]) => row(name, typeOf(part), `body. ${part.description ?? ""}`));
}

function tryIt(path, operation) {
  const inputs = (operation.parameters ?? []).map((parameter) => ({
    ...parameter,
    field: make("input", { placeholder: parameter.name, "aria-label": parameter.name }),
  }));
  const shown = make("pre", { hidden: "" });
  const ask = async () => {
    let url = path;
    const query = new URLSearchParams();
    for (const { name, in: place, field } of inputs) {
      if (!field.value) continue;
      if (place === "path") url = url.replace(`{${name}}`, encodeURIComponent(field.value));
      else query.set(name, field.value);
    }
    const token = document.getElementById("token").value;
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch(query.size ? `${url}?${query}` : url, { headers });
    const text = await answer.text();
    let told = text;
    try { told = JSON.stringify(JSON.parse(text), null, 2); } catch { /* a log, or metrics */ }
    shown.hidden = false;
    shown.textContent = `${answer.status}\n${told}`;
  };
  return make("div", {}, ...inputs.map((each) => each.field), make("button", { on: ["click", ask] }, "Ask"), shown);
}

const byTag = new Map();
for (const [path, verbs] of Object.entries(api.paths)) {
  for (const [verb, operation] of Object.entries(verbs)) {
    const tag = operation.tags?.[0] ?? "others";
    if (!byTag.has(tag)) byTag.set(tag, []);
    byTag.get(tag).push({ path, verb, operation });
  }
}
for (const [tag, entries] of byTag) {
  document.getElementById("paths").append(
    make("section", {}, make("h2", {}, tag), ...entries.map(({ path, verb, operation }) =>
      make("details", {},
        make("summary", {},
          make("span", { class: `verb ${verb}` }, verb.toUpperCase()), make("code", {}, path),
          make("span", { class: "what" }, operation.description ?? "")),
        make("table", {},
          ...(operation.parameters ?? []).map((each) => row(each.name, typeOf(each.schema), `${each.in}. ${each.description ?? ""}`)),
          ...bodyRows(operation)),
        verb === "get" ? tryIt(path, operation) : null))));
}
