// What must be true after a trial. Anything else is a failure.

import { isDeepStrictEqual } from "node:util";
import { farewell, file, texts } from "./agents.mjs";

/** Lines that the output of an agent which failed is cut to. */
const SHOWN = 20;

/** The checks of a trial, each with what was found. */
export function findings(agent, trial) {
  return [
    connection(agent, trial),
    readByKumiko(agent, trial),
    editByKumiko(agent, trial),
    editByItself(agent, trial),
    onDisk(trial),
    blamed(agent, trial),
    ...(agent.session === undefined ? [] : [noted(agent, trial)]),
    ending(trial),
  ];
}

function connection({ prefix }, { connected, script }) {
  const count = [...script.offered].filter((name) => name.startsWith(prefix)).length;
  const found = `${count} of Kumiko's tools were offered to the model`;
  return { name: "connected", ok: connected.changed === true && count > 0, found };
}

function readByKumiko({ prefix }, { script }) {
  const shown = shownOf(script, `${prefix}block_read`);
  return { name: "reads by Kumiko", ok: shown.includes("1 two\n2 three"), found: shown };
}

function editByKumiko({ prefix }, { script }) {
  const shown = shownOf(script, `${prefix}block_edit`);
  return { name: "edits by Kumiko", ok: shown.includes(`${file} is now version 2`), found: shown };
}

function editByItself({ own }, { script }) {
  const shown = shownOf(script, own.tool);
  return { name: `edits by ${own.tool}`, ok: shown !== NOTHING, found: shown };
}

const NOTHING = "(nothing: it was not called)";

/** What the model was shown of a call's result. */
function shownOf({ calls }, tool) {
  return calls.findLast(({ call }) => call === tool)?.shown ?? NOTHING;
}

function onDisk({ disk }) {
  const wanted = ["one", texts.byKumiko, texts.byItself, ""].join("\n");
  return { name: "on disk", ok: disk === wanted, found: disk };
}

/** Each line's words are their writer's, and nothing else is in the text but the line ends of the first one. */
function blamed({ actor, own }, { blame }) {
  const wanted = [
    ["one", "disk"],
    [texts.byKumiko, actor],
    [texts.byItself, own.actor],
  ];
  const words = blame.filter(({ text }) => text.trim() !== "");
  const said = words.map(({ text, actor: by }) => [text.trimEnd(), by]);
  const found = said.map(([text, by]) => `${by}: ${text}`).join("\n");
  return { name: "blame", ok: isDeepStrictEqual(said, wanted), found };
}

/** An edit that hooks tell of has the agent's own names for its session, its tool and its call. */
function noted({ own, session }, { script, ended, versions }) {
  const [{ actor, tool, call, turn }] = versions;
  const id = script.calls.findLast((each) => each.call === own.tool)?.id;
  const ok = tool === own.tool && call === id && turn === session(ended.printed);
  return { name: "history", ok, found: `${actor}, ${tool}, call ${call}, session ${turn}` };
}

function ending({ script, ended: { code, output, printed } }) {
  const ok = code === 0 && script.isDone && script.trouble === null && printed.includes(farewell);
  if (ok) return { name: "ends", ok, found: `exit code 0: ${farewell}` };
  const last = output.trimEnd().split("\n").slice(-SHOWN);
  const why = script.trouble === null ? [] : [script.trouble];
  return { name: "ends", ok, found: [...why, `exit code ${code}`, ...last].join("\n") };
}
