import { join } from "node:path";
import { describeStore } from "../../../test/store-contract/describe-store.ts";
import type { NewWorld } from "../../../test/store-contract/support.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const written =
  (held: number): NewWorld =>
  async () => {
    const folder = temporaryFolder();
    return {
      open: () => openSqliteStore(join(folder.path, "state.db"), { shared: true, held }),
      async [Symbol.asyncDispose]() {
        folder[Symbol.dispose]();
      },
    };
  };

describeStore("sqlite store, written here", written(Infinity), 100);
describeStore("sqlite store, written on its thread", written(0), 100);
