/** Prints how many milliseconds of processor time a file takes to import, in a process that imported nothing else. */
const entry = process.argv[2]!;
const begun = process.threadCpuUsage();
await import(entry);
const { user, system } = process.threadCpuUsage(begun);
process.stdout.write(String((user + system) / 1000));
