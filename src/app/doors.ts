import type { Hall } from "../doors/index.ts";
import {
  createMetricsDoor,
  createStatusDoor,
  createTokensDoor,
  type DoorOpener,
  type Surroundings,
} from "../doors/http/index.ts";
import type { McpDoorOptions } from "../doors/mcp/door.ts";
import { kernelOfFolder } from "./folders.ts";
import type { HomeFolder } from "./home.ts";
import { createKernelsDoor } from "./kernels-door.ts";

/** All doors of a server. Protocols are loaded when their first visitor comes. */
export function doorsOf(
  hall: Hall,
  home: HomeFolder,
  surroundings: Surroundings,
  mcp: McpDoorOptions,
): DoorOpener[] {
  const registerFolder = async (folder: string): Promise<string> => {
    const { kernel } = await kernelOfFolder(home, folder);
    await hall.openOrCreate(kernel);
    return kernel;
  };
  const own = [
    createStatusDoor(hall, surroundings),
    createMetricsDoor(hall, surroundings),
    createTokensDoor(hall),
    createKernelsDoor(hall, home),
  ];
  return [
    ...own.map((door) => ({ path: door.path, open: () => Promise.resolve(door) })),
    {
      path: "/rpc",
      open: async () =>
        (await import("../doors/rpc/door.ts")).createRpcDoor(hall, { registerFolder }),
    },
    {
      path: "/replica",
      open: async () => (await import("../doors/replica/door.ts")).createReplicaDoor(hall),
    },
    {
      path: "/mcp",
      open: async () => (await import("../doors/mcp/door.ts")).createMcpDoor(hall, mcp),
    },
  ];
}
