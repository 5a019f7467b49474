import { join } from "node:path";
import { describeStore } from "../../../test/store-contract/describe-store.ts";
import type { NewWorld } from "../../../test/store-contract/support.ts";
import { isFull } from "../../../test/support/counts.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const written =
  (how: { readonly held?: number }): NewWorld =>
  async () => {
    const folder = temporaryFolder();
    return {
      open: () => openSqliteStore(join(folder.path, "state.db"), { shared: true, ...how }),
      async [Symbol.asyncDispose]() {
        folder[Symbol.dispose]();
      },
    };
  };

// As it decides by itself who writes; and each of the two alone where everything is tried.
describeStore("sqlite store", written({}), 100);
if (isFull()) {
  describeStore("sqlite store, written here", written({ held: Infinity }), 100);
  describeStore("sqlite store, written on its thread", written({ held: 0 }), 100);
}
