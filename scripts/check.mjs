// `npm run check`: the fast checks, for every commit.

import { runChecks } from "./checks.mjs";
import { afterSetup } from "./setup.mjs";

await afterSetup(async () => ((await runChecks()) === 0 ? 0 : 1));
