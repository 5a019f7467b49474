/**
 * What is counted, and what it means. Labels are few and known: tools, doors, outcomes; never names that callers
 * choose, paths, actors or tokens.
 */
const table = {
  kumiko_calls_total: ["counter", "Calls of tools, by tool and outcome."],
  kumiko_call_seconds: ["histogram", "How long calls of tools took."],
  kumiko_http_requests_total: ["counter", "Requests, by door and status."],
  kumiko_refused_total: ["counter", "Requests refused before they reached a door, by reason."],
  kumiko_connections: ["gauge", "Open WebSockets, by door."],
  kumiko_feed_subscribers: ["gauge", "Who listens to feeds."],
  kumiko_resyncs_total: ["counter", "Connections ended because their peer did not read, by door."],
  kumiko_replica_frames_total: ["counter", "Frames of replicas, by outcome."],
  kumiko_vetting_workers_total: ["counter", "Vetting workers that were started."],
  kumiko_kernels_open: ["gauge", "Kernels that are open."],
  kumiko_journal_position: ["gauge", "The newest position, by kernel."],
  kumiko_tokens: ["gauge", "Tokens that are known."],
  process_resident_memory_bytes: ["gauge", "Resident memory."],
  process_start_time_seconds: ["gauge", "When the server started, since 1970."],
  kumiko_uptime_seconds: ["gauge", "How long the server has run."],
} as const satisfies Record<string, readonly ["counter" | "gauge" | "histogram", string]>;

type Named<Type> = {
  [Name in keyof typeof table]: (typeof table)[Name][0] extends Type ? Name : never;
}[keyof typeof table];
export type Labels = { readonly [label: string]: string };

/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Of one metric; a label that would make more is a fault, and its numbers are added up as "other". */
const SERIES = 500;

interface Series {
  readonly labels: Labels;
  value: number;
  /** Of a histogram: how many were below each bound. */
  readonly buckets: number[];
  count: number;
}

/** Numbers for Prometheus, in its text format. */
export class Metrics {
  readonly #series = new Map<string, Map<string, Series>>();

  counter(name: Named<"counter">, labels: Labels = {}): { add(by?: number): void } {
    const series = this.#find(name, labels);
    return { add: (by = 1) => void (series.value += by) };
  }

  gauge(
    name: Named<"gauge">,
    labels: Labels = {},
  ): { add(by: number): void; set(value: number): void } {
    const series = this.#find(name, labels);
    return {
      add: (by) => void (series.value += by),
      set: (value) => void (series.value = value),
    };
  }

  histogram(name: Named<"histogram">, labels: Labels = {}): { observe(seconds: number): void } {
    const series = this.#find(name, labels);
    return {
      observe: (seconds) => {
        series.value += seconds;
        series.count += 1;
        const at = BOUNDS.findIndex((bound) => seconds <= bound);
        if (at >= 0) series.buckets[at]! += 1;
      },
    };
  }

  /** Forgets what a gauge said, before it is set anew. */
  clear(name: Named<"gauge">): void {
    this.#series.delete(name);
  }

  render(): string {
    const lines: string[] = [];
    for (const [name, [type, help]] of Object.entries(table)) {
      const all = this.#series.get(name);
      if (all === undefined) continue;
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const series of all.values()) {
        if (type === "histogram") lines.push(...histogramLines(name, series));
        else lines.push(`${name}${written(series.labels)} ${series.value}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  #find(name: keyof typeof table, labels: Labels): Series {
    let all = this.#series.get(name);
    if (all === undefined) this.#series.set(name, (all = new Map()));
    const key = written(labels);
    const known = all.get(key);
    if (known !== undefined) return known;
    if (all.size >= SERIES) {
      const other = Object.fromEntries(Object.keys(labels).map((label) => [label, "other"]));
      return all.get(written(other)) ?? this.#add(all, other);
    }
    return this.#add(all, labels);
  }

  #add(all: Map<string, Series>, labels: Labels): Series {
    const series: Series = { labels, value: 0, count: 0, buckets: BOUNDS.map(() => 0) };
    all.set(written(labels), series);
    return series;
  }
}

function histogramLines(name: string, { labels, buckets, count, value }: Series): string[] {
  let below = 0;
  const lines = buckets.map((inside, at) => {
    below += inside;
    return `${name}_bucket${written({ ...labels, le: String(BOUNDS[at]) })} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket${written({ ...labels, le: "+Inf" })} ${count}`,
    `${name}_sum${written(labels)} ${value}`,
    `${name}_count${written(labels)} ${count}`,
  ];
}

/** With every call: so in one go, without lists. */
function written(labels: Labels): string {
  let all = "";
  for (const name in labels) all += `${all === "" ? "" : ","}${name}="${escaped(labels[name]!)}"`;
  return all === "" ? "" : `{${all}}`;
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
