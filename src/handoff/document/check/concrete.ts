// Whether a text says anything: a step that someone could start on, not a placeholder.

const placeholder =
  /^(?:none(?: (?:known|yet|so far|recorded|stated|at (?:this time|the moment)))?|n\/?a|not applicable|nothing(?: (?:yet|so far|to report))?|tbd|tba|to be (?:determined|done|decided|defined|added)|todo|t\.?b\.?d\.?|unknown|unclear|\?+|-+|\.{2,}|…|x+|placeholder|fill (?:this )?in|see above|as above|same as (?:above|before)|pending|keine?|aucune?|ninguno|なし|无|無)$/i
const empty = /^(?:none|n\/?a|not applicable|nothing|keine?|aucune?|ninguno|なし|无|無)\b/i
const vague =
  /^(?:please\s+)?(?:(?:continue|keep(?: on)?|resume|proceed|carry on|go on|move on|finish|complete|do|start|pick up)\b)?(?:\s*(?:working|work|going|on|with|to|from|the|this|that|these|it|its|task|tasks|project|session|handoff|development|implementation|implementing|coding|previous|current|remaining|rest|of|where|we|i|you|left|off|next|step|steps|as|planned|before|todo|todos|list|items?|everything|things?|stuff|and|then|more))*$/i

/** Only so much of a text is looked at: a longer one is no placeholder. */
const longest = 300

function bare(text: string): string {
  return text
    .slice(0, longest)
    .replace(/^[\s\-*•[\]()>]+|[\s.!*_`()]+$/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Whether a text stands for a missing one: "None", "TBD", "???". */
export function isPlaceholder(text: string): boolean {
  const plain = bare(text)
  return plain === '' || placeholder.test(plain)
}

/** Whether a text says that there is nothing: "None", "n/a". */
export function isNone(text: string): boolean {
  return empty.test(bare(text))
}

/** Whether a text names something to do, which "continue working" does not. */
export function isConcrete(text: string): boolean {
  const plain = bare(text)
  // A letter of some scripts is a syllable or a word.
  const least = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(plain) ? 3 : 4
  return plain.length >= least && !isPlaceholder(text) && !vague.test(plain)
}
