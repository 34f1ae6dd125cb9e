/** One setting of the hub as an admin sees it: name, description, default, and source of the value. */
export interface HubSettingView {
  group: string;
  /** Environment variable: `TIDEMARK_PORT`. */
  name: string;
  about: string;
  /** Describes the default. */
  usual: string;
  /** The value as it was set; null when nothing was set, and always for secrets. */
  value: string | null;
  /**
   * `default`: nothing was set. `environment`: the variable of that name. `file`: a file named by the variable with the
   * suffix `_FILE`. `signer`: known only to the process that holds the master key.
   */
  source: "default" | "environment" | "file" | "signer";
}
