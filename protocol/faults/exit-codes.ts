/** Exit codes of the commands. Every fault has one of them; `tidemark help --markdown` lists them. */
export const EXIT_CODES = [
  { code: 0, says: "Done completely." },
  { code: 1, says: "Failed for another reason; the message names it." },
  { code: 2, says: "Wrong usage: a flag, a value, an address. Nothing was done." },
  { code: 3, says: "A named bucket, object or file does not exist." },
  { code: 4, says: "Refused: keys, rights, a credential, or a folder in use." },
  { code: 5, says: "A temporary failure of the link, the store or the hub. The same command can be started again." },
  { code: 6, says: "The bytes differ from the expected ones. `check`: the sides differ." },
  { code: 7, says: "No space on the disk." },
  {
    code: 8,
    says: "Completed, but some or all files or names failed; each is named. A command that cannot start or continue ends with the code of the reason.",
  },
  { code: 9, says: "`run --require-safe`: the program ended with 0, but not everything that it wrote is safe." },
  { code: 126, says: "`run`: the program cannot be executed." },
  { code: 127, says: "`run`: the program was not found." },
  { code: 130, says: "Ended by SIGINT." },
  { code: 143, says: "Ended by SIGTERM." },
] as const;
