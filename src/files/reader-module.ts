const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** What the thread of an index of files loads to read them. */
export const readerModule = new URL(`./file-reader.${extension}`, import.meta.url);
