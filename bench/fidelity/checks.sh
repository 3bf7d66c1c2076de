#!/bin/bash
# Test runners, a compiler, a linter and a packer in one, told apart by the name it is called by. They print what their
# namesakes print; a test of x passes when the source that its first line names holds SOUND_x.
name="$(basename "$0")"
if [ "$name" = npx ]; then exec "$@"; fi
if [ "$name" = npm ]; then
  case "$1 $2" in
    "test "*) printf '\n> shop@1.0.0 test\n> vitest run\n\n'; exec vitest run ;;
    "run build") printf '\n> shop@1.0.0 build\n> tsc -p .\n\n'; exec tsc -p . ;;
    *) echo "added 1 package in 300ms"; exit 0 ;;
  esac
fi
sound() {
  local head source
  IFS= read -r head < "$1" || return 1
  source="${head##* in }"
  [[ "$(< "$source")" == *"SOUND_$2"* ]]
}
case "$name" in
vitest)
  [ "$1" = run ] && shift
  files=(); for one in "$@"; do case "$one" in -*) ;; *) files+=("$one") ;; esac; done
  [ "${#files[@]}" = 0 ] && files=(tests/*.test.ts)
  bad=0; good=0; printf '\n RUN  v3.2.4 %s\n\n' "$PWD"; late=""
  for file in "${files[@]}"; do
    suite="$(basename "$file" .test.ts)"
    if sound "$file" "$suite"; then good=$((good + 1)); echo " ✓ $file (3 tests) 4ms"
    else bad=$((bad + 1)); echo " ❯ $file (3 tests | 1 failed) 7ms"; echo "   × $suite > keeps its state 3ms"
      late="$late FAIL  $file > $suite > keeps its state"$'\n'"AssertionError: expected 'BROKEN' to be 'SOUND_$suite' // Object.is equality"$'\n'
    fi
  done
  if [ $bad -gt 0 ]; then
    printf '\n⎯⎯⎯ Failed Tests %d ⎯⎯⎯\n\n%s\n' $bad "$late"
    printf ' Test Files  %d failed | %d passed (%d)\n      Tests  %d failed | %d passed (%d)\n' $bad $good $((bad + good)) $bad $((good * 3 + bad * 2)) $(((bad + good) * 3))
  else printf '\n Test Files  %d passed (%d)\n      Tests  %d passed (%d)\n' $good $good $((good * 3)) $((good * 3)); fi
  printf '   Duration  412ms\n'; [ $bad = 0 ] ;;
pytest)
  files=(); for one in "$@"; do case "$one" in -*) ;; *) files+=("$one") ;; esac; done
  [ "${#files[@]}" = 0 ] && files=(service/tests/test_*.py)
  bad=0; good=0; late=""
  for file in "${files[@]}"; do
    suite="$(basename "$file" .py)"; suite="${suite#test_}"
    if sound "$file" "$suite"; then good=$((good + 1)); printf '..'
    else bad=$((bad + 1)); printf '.F'; late="${late}FAILED $file::test_state - AssertionError: assert 'BROKEN' == 'SOUND_$suite'"$'\n'; fi
  done
  echo "      [100%]"
  if [ $bad -gt 0 ]; then printf '=========================== short test summary info ============================\n%s%d failed, %d passed in 0.12s\n' "$late" $bad $((good * 2 + bad)); exit 1; fi
  printf '%d passed in 0.10s\n' $((good * 2)) ;;
tsc)
  found="$(grep -rn 'TYPE_HOLE' src 2>/dev/null | sort | sed -E 's/^([^:]+):([0-9]+):.*/\1(\2,7): error TS2322: Type "string" is not assignable to type "number"./')"
  if [ -n "$found" ]; then echo "$found"; exit 2; fi ;;
eslint)
  found="$(grep -rln 'LINT_HOLE' src 2>/dev/null | sort)"
  if [ -n "$found" ]; then for one in $found; do printf '\n%s\n  3:1  error  Unexpected var, use let or const instead  no-var\n' "$PWD/$one"; done; printf '\n✖ 1 problem (1 error, 0 warnings)\n'; exit 1; fi ;;
checks) echo "packing..."; echo "error: missing field license in manifest"; exit 1 ;;
esac
