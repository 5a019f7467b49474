import { KumikoError } from "../../base/index.ts";

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Why a server cannot listen there, and what to do instead. */
export function unlistenable(error: unknown, { host, port }: Place): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  if (code === undefined) return error instanceof Error ? error : new Error(String(error));
  const denied = `Port ${port} of ${host} is not for this user. Choose one from 1024 up with --port.`;
  const known: { readonly [code: string]: string } = {
    EADDRINUSE: `Another program listens on port ${port} of ${host}. Choose another with --port.`,
    EADDRNOTAVAIL: `${host} is no address of this machine, so the server cannot listen there. --host takes 127.0.0.1 for this machine only, 0.0.0.0 for everyone, or an address that this machine has.`,
    ENOTFOUND: `${host} is no name that leads to an address. --host takes an address of this machine.`,
    EPERM: denied,
    EACCES: denied,
  };
  return new KumikoError(
    code === "EADDRINUSE" ? "in_use" : "invalid_argument",
    known[code] ?? `The server cannot listen on port ${port} of ${host} (${code}).`,
    { host, port, reason: code },
    { cause: error },
  );
}
