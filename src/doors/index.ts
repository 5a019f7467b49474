export { Hall, type Log } from "./hall.ts";
export { Metrics } from "./metrics.ts";
export { checkEveryKernel, checkScope, type Principal } from "./principal.ts";
export { withoutSecrets } from "./tokens/secret.ts";
export { familyOf } from "./tokens/token-file.ts";
export { TokenStore } from "./tokens/token-store.ts";
export { patiently } from "./patience.ts";
