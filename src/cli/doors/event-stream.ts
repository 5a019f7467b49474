import { StringDecoder } from "node:string_decoder";

interface StreamEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** The events of a `text/event-stream`, as they come. */
export async function* eventsOf(
  response: AsyncIterable<Buffer>,
): AsyncGenerator<StreamEvent, void, void> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let id: string | undefined;
  let data: string[] = [];
  for await (const chunk of response) {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === "" || line === "\r") {
        if (data.length > 0) yield { id, data: data.join("\n") };
        id = undefined;
        data = [];
      } else if (line.startsWith("data:")) data.push(valueOf(line, "data:"));
      else if (line.startsWith("id:")) id = valueOf(line, "id:");
    }
  }
}

function valueOf(line: string, name: string): string {
  return line.slice(name.length).replace(/^ /, "").replace(/\r$/, "");
}
