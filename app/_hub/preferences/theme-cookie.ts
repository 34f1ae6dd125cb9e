/** The theme cookie. The server reads it for the first paint, the browser for the switch. */
export type Theme = "system" | "light" | "dark";

export const THEME_COOKIE = "tidemark-theme";

export const parseTheme = (text: string | null | undefined): Theme =>
  text === "light" || text === "dark" ? text : "system";
