/** One setting of the hub as an admin sees it: what it is, what it would be, and where its value comes from. */
export interface HubSettingView {
  group: string;
  /** Of the environment: `TIDEMARK_PORT`. */
  name: string;
  about: string;
  /** What holds where nothing is set, in words. */
  usual: string;
  /** What was set, as it was written; null where nothing was, and of everything secret. */
  value: string | null;
  /**
   * `default`: nothing was set. `environment`: the variable of that name. `file`: the one with `_FILE` behind it names a
   * file. `keeper`: only the process that holds the master key knows.
   */
  source: "default" | "environment" | "file" | "keeper";
}
