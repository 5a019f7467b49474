import * as z from "zod";
import { checkEveryKernel, checkScope, type Hall } from "../doors/index.ts";
import { checkMethod, parsedBody, type RequestDoor, sendJson } from "../doors/http/index.ts";
import { kernelOfFolder } from "./folders.ts";
import type { HomeFolder } from "./home.ts";
import { mountAgain } from "./open-folder.ts";

const wanted = z.strictObject({
  folder: z.string().min(1).max(4096),
  mount: z.boolean().optional().describe("also when somebody unmounted it"),
});

/** `/kernels`: POST makes sure that a folder has a kernel here, and says which. For who may do everything: it names files. */
export function createKernelsDoor(hall: Hall, home: HomeFolder): RequestDoor {
  return {
    path: "/kernels",
    async serve(request, response, { principal }) {
      checkMethod(request, ["POST"]);
      checkScope(principal, "admin");
      checkEveryKernel(principal);
      const { folder, mount = false } = await parsedBody(request, wanted);
      const known = await kernelOfFolder(home, folder);
      const kernel = await hall.openOrCreate(known.kernel);
      hall.log.info({ ...known }, "folder registered");
      sendJson(response, mount ? await mountAgain(hall, kernel, known) : known);
    },
  };
}
