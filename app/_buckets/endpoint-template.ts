/** Fills `{region}` and `{account}` of a provider's endpoint template. Placeholders without a value stay. */
export function fillEndpoint(template: string, values: { region: string; account: string }): string {
  return template
    .replaceAll("{region}", () => (values.region === "" ? "{region}" : values.region))
    .replaceAll("{account}", () => (values.account === "" ? "{account}" : values.account));
}

export const needsAccount = (template: string): boolean => template.includes("{account}");

/** Returns the unfilled placeholders, for the sentence "fill in the region". */
export const openPlaces = (endpoint: string): string[] =>
  [...endpoint.matchAll(/\{(region|account)\}/g)].map((match) => match[1] ?? "");
