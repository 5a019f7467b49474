/** A Hocuspocus server as its README starts one, on a free port that it prints. */
import { Server } from "@hocuspocus/server";

const server = new Server({ port: 0, quiet: true });
await server.listen();
process.stdout.write(`${server.address.port}\n`);
