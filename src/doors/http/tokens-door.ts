import * as z from "zod";
import { tokenRequest } from "../../protocol/index.ts";
import type { Hall } from "../hall.ts";
import { checkMethod, sendJson } from "./answer.ts";
import type { RequestDoor } from "./door.ts";
import { parsedBody } from "./parsed-body.ts";

const revocation = z.strictObject({ id: z.string().max(64) });

/** `/tokens`: GET lists, POST mints, DELETE revokes. What a token may do there is decided by `TokenStore`. */
export function createTokensDoor({ tokens, log }: Hall): RequestDoor {
  return {
    path: "/tokens",
    async serve(request, response, { principal }) {
      checkMethod(request, ["GET", "POST", "DELETE"]);
      if (request.method === "GET") {
        // Whoever changed the file and asks now sees that it counts.
        await tokens.look();
        sendJson(response, { tokens: tokens.list(principal) });
      } else if (request.method === "POST") {
        const minted = await tokens.mint(principal, await parsedBody(request, tokenRequest));
        log.info({ by: principal.token, id: minted.info.id }, "token minted");
        sendJson(response, minted, 201);
      } else {
        const { id } = await parsedBody(request, revocation);
        const revoked = await tokens.revoke(principal, id);
        log.info({ by: principal.token, ids: revoked }, "tokens revoked");
        // Whoever revoked itself is not there any more to be told.
        if (!response.writableEnded && !response.destroyed) sendJson(response, { revoked });
      }
    },
  };
}
