/** Environment variables of a process, or those that one program is started with. */
export type Environment = Readonly<Record<string, string | undefined>>;
