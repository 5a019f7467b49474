/** One screen that says what runs here. No script stands in the page itself: its policy forbids that. */

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kumiko</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header><img src="/icon.svg" alt="" width="28" height="28"><h1>Kumiko</h1><p id="server">…</p></header>
<main>
<p id="notice" role="status" hidden></p>
<div id="tables" hidden>
<section><h2>Kernels</h2><table><thead><tr><th>kernel<th>folder<th>contexts<th>position</tr></thead><tbody id="kernels"></tbody></table></section>
<section><h2>Connections</h2><table><thead><tr><th>who<th>door<th>since<th>from</tr></thead><tbody id="connections"></tbody></table></section>
<section><h2>MCP clients</h2><table><thead><tr><th>client<th>who<th>since<th>last call</tr></thead><tbody id="clients"></tbody></table></section>
</div>
</main>
</body>
</html>
`;

const css = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; }
header { display: flex; align-items: center; gap: .75rem; flex-wrap: wrap; }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
#server { margin: 0; opacity: .7; }
#notice { border-left: 3px solid; padding: .25rem .75rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); overflow-wrap: anywhere; }
th { font-weight: 500; opacity: .7; }
`;

const script = `const $ = (id) => document.getElementById(id);

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = text === "";
}

function fill(id, rows, none) {
  const lines = (rows.length === 0 ? [[none]] : rows).map((cells) => {
    const line = document.createElement("tr");
    line.append(...cells.map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }));
    return line;
  });
  $(id).replaceChildren(...lines);
}

let used = false;

/** The link's token is good for one exchange; it does not stay in the address or the history. */
async function exchange() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  used = response.status === 401;
}

const moment = (time) => new Date(time).toLocaleTimeString();

async function show() {
  const response = await fetch("/status.json");
  const body = await response.json();
  if (!response.ok) {
    $("tables").hidden = true;
    const needed = used
      ? "This link was used already, or has expired: kumiko status --link prints another."
      : "This page needs a link: run kumiko status --link in a terminal and open the one it prints.";
    notice(response.status === 401 ? needed : body.error.message);
    return;
  }
  notice("");
  $("tables").hidden = false;
  $("server").textContent = body.server.version + " · " + body.you.actor + " · since " + new Date(body.server.since).toLocaleString();
  fill("kernels", body.kernels.map((kernel) => [
    kernel.kernel,
    kernel.folder ?? "",
    kernel.contexts === null ? "(not open)" : kernel.contexts.join(", "),
    kernel.position === null ? "" : String(kernel.position),
  ]), "none yet");
  fill("connections", body.connections.map((each) => [each.actor + " (" + each.kind + ")", each.door, moment(each.since), each.address]), "nobody");
  fill("clients", body.clients.map((each) => [
    each.name ?? "",
    each.actor + " (" + each.kind + ")",
    moment(each.since),
    each.last_call === null ? "none yet" : moment(each.last_call),
  ]), "none");
}

async function follow() {
  try {
    await show();
  } catch {
    notice("The server does not answer.");
  }
  setTimeout(follow, 2000);
}

await exchange();
await follow();
`;

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28" fill="none" stroke="#b5762a" stroke-width="2"><path d="M14 2 24.4 8v12L14 26 3.6 20V8zM14 2v24M3.6 8l20.8 12M24.4 8 3.6 20"/></svg>
`;

export const pageFiles: ReadonlyMap<string, { readonly type: string; readonly text: string }> =
  new Map([
    ["/", { type: "text/html; charset=utf-8", text: html }],
    ["/page.css", { type: "text/css; charset=utf-8", text: css }],
    ["/page.js", { type: "text/javascript; charset=utf-8", text: script }],
    ["/icon.svg", { type: "image/svg+xml", text: icon }],
  ]);
