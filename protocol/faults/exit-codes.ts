/** Exit codes of the commands. Every fault has one of them; `tidemark help --markdown` lists them. */
export const EXIT_CODES = [
  { code: 0, says: "Done, all of it." },
  { code: 1, says: "It failed for another reason; the sentence says which." },
  { code: 2, says: "It was asked wrongly: a flag, a value, an address. Nothing was done." },
  { code: 3, says: "What was named does not exist: a bucket, an object, a file." },
  { code: 4, says: "It was refused: keys, rights, a credential, a folder in use." },
  { code: 5, says: "It did not work for now: the link, the store, the hub. The same command can be started again." },
  { code: 6, says: "The bytes are not those that were expected. `check`: the sides differ." },
  { code: 7, says: "There is no space for it on the disk." },
  {
    code: 8,
    says: "It went on to its end, and single files or names failed, some or all; each is named. Where it could not begin or go on, the code is that of the reason.",
  },
  { code: 9, says: "`run --require-safe`: the program ended with 0, and not all that it wrote is safe." },
  { code: 126, says: "`run`: the program cannot be executed." },
  { code: 127, says: "`run`: the program was not found." },
  { code: 130, says: "Ended by SIGINT." },
  { code: 143, says: "Ended by SIGTERM." },
] as const;
