/** The theme as it stands in the cookie: read on the server for the first paint and in the browser for the switch. */
export type Theme = "system" | "light" | "dark";

export const THEME_COOKIE = "tidemark-theme";

export const parseTheme = (text: string | null | undefined): Theme =>
  text === "light" || text === "dark" ? text : "system";
