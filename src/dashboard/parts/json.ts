/** @throws Error with the text, if it is not JSON */
export function parseJson(json: string, otherwise: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error(otherwise);
  }
}
