// The few emoji shortcodes that cards use; any other is shown as it was typed.
export const EMOJI = new Map(Object.entries({
  white_check_mark: "✅", heavy_check_mark: "✔️", ballot_box_with_check: "☑️", x: "❌", no_entry: "⛔",
  no_entry_sign: "🚫", warning: "⚠️", octagonal_sign: "🛑", stop_sign: "🛑", rotating_light: "🚨",
  hourglass: "⌛", hourglass_flowing_sand: "⏳", alarm_clock: "⏰", stopwatch: "⏱️", clock3: "🕒",
  pause_button: "⏸️", double_vertical_bar: "⏸️", arrow_forward: "▶️", black_square_for_stop: "⏹️",
  leftwards_arrow_with_hook: "↩️", rewind: "⏪", arrow_right: "➡️", arrows_counterclockwise: "🔄", repeat: "🔁",
  lock: "🔒", unlock: "🔓", key: "🔑", shield: "🛡️", eyes: "👀", mag: "🔍", question: "❓", grey_question: "❔",
  information_source: "ℹ️", bulb: "💡", bell: "🔔", no_bell: "🔕", speech_balloon: "💬", robot_face: "🤖",
  wastebasket: "🗑️", pencil: "📝", pencil2: "✏️", memo: "📝", page_facing_up: "📄", file_folder: "📁",
  open_file_folder: "📂", card_index_dividers: "🗂️", package: "📦", paperclip: "📎", link: "🔗", email: "📧",
  gear: "⚙️", wrench: "🔧", hammer_and_wrench: "🛠️", rocket: "🚀", tada: "🎉", wave: "👋", pray: "🙏",
  "+1": "👍", thumbsup: "👍", "-1": "👎", thumbsdown: "👎", raised_hand: "✋", point_right: "👉",
  smile: "😄", slightly_smiling_face: "🙂", thinking_face: "🤔", large_green_circle: "🟢",
  large_yellow_circle: "🟡", red_circle: "🔴", white_circle: "⚪", large_blue_circle: "🔵", sparkles: "✨",
}));
