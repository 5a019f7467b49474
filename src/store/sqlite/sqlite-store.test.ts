import { join } from "node:path";
import { describeStore } from "../../../test/store-contract/describe-store.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

describeStore(
  "sqlite store",
  async () => {
    const folder = temporaryFolder();
    return {
      open: () => openSqliteStore(join(folder.path, "state.db"), { shared: true }),
      async [Symbol.asyncDispose]() {
        folder[Symbol.dispose]();
      },
    };
  },
  100,
);
