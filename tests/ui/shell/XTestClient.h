#pragma once

#include <xcb/xcb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tests {

/// A picture of the screen, 32 bits a pixel.
struct Screenshot {
  int width = 0;
  int height = 0;
  std::vector<std::uint32_t> pixels;  ///< 0x00RRGGBB

  [[nodiscard]] std::uint32_t at(int x, int y) const { return pixels[y * width + x]; }
};

struct ScreenRect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// Sends input through the X server (XTEST), as a keyboard and a mouse do, and looks at what
/// the screen shows. A client of its own: the program under test gets real events.
class XTestClient {
 public:
  /// Connects to $DISPLAY. Throws std::runtime_error without a server or without XTEST.
  XTestClient();
  ~XTestClient();
  XTestClient(const XTestClient&) = delete;
  XTestClient& operator=(const XTestClient&) = delete;

  /// Keys to hold while the pointer does something, by their keysyms.
  using Keys = std::vector<xcb_keysym_t>;

  void moveTo(int x, int y);
  void click(int x, int y, std::uint8_t button = 1, const Keys& held = {});
  void doubleClick(int x, int y);
  /// Turns the wheel by notches, away from the user when positive.
  void wheel(int x, int y, int notches, const Keys& held = {});
  void drag(int fromX, int fromY, int toX, int toY, std::uint8_t button = 1,
            const Keys& held = {});
  /// Presses and releases a key by its X keysym, with modifiers held (also keysyms).
  void key(xcb_keysym_t keysym, const Keys& modifiers = {});

  [[nodiscard]] Screenshot screenshot();
  /// The title of the largest mapped top-level window; empty when there is none.
  [[nodiscard]] std::string title();
  /// Whether that window brought an icon of its own.
  [[nodiscard]] bool hasIcon();
  /// Its place on the screen.
  [[nodiscard]] std::optional<ScreenRect> window();

 private:
  [[nodiscard]] std::optional<xcb_window_t> largestWindow();
  [[nodiscard]] xcb_atom_t atom(const std::string& name);
  void hold(const Keys& keys);
  void letGo(const Keys& keys);
  void send(std::uint8_t type, std::uint8_t detail, int x = 0, int y = 0);
  [[nodiscard]] std::uint8_t keycode(xcb_keysym_t keysym) const;
  /// Returns when the server has taken everything sent so far.
  void settle();

  xcb_connection_t* connection_ = nullptr;
  xcb_screen_t* screen_ = nullptr;
  std::vector<xcb_keysym_t> keysyms_;
  int keysymsPerCode_ = 0;
  int firstCode_ = 0;
};

constexpr xcb_keysym_t kKeyReturn = 0xFF0D;
constexpr xcb_keysym_t kKeyEscape = 0xFF1B;
constexpr xcb_keysym_t kKeyTab = 0xFF09;
constexpr xcb_keysym_t kKeyF1 = 0xFFBE;
constexpr xcb_keysym_t kKeyF5 = 0xFFC2;
constexpr xcb_keysym_t kKeyF8 = 0xFFC5;
constexpr xcb_keysym_t kKeyShift = 0xFFE1;
constexpr xcb_keysym_t kKeyControl = 0xFFE3;
constexpr xcb_keysym_t kKeyF3 = 0xFFC0;
constexpr xcb_keysym_t kKeyAlt = 0xFFE9;
constexpr xcb_keysym_t kKeyHome = 0xFF50;
constexpr xcb_keysym_t kKeyLeft = 0xFF51;
constexpr xcb_keysym_t kKeyUp = 0xFF52;
constexpr xcb_keysym_t kKeyRight = 0xFF53;
constexpr xcb_keysym_t kKeyDown = 0xFF54;
constexpr xcb_keysym_t kKeyEnd = 0xFF57;
constexpr xcb_keysym_t kKeyPageUp = 0xFF55;
constexpr xcb_keysym_t kKeyPageDown = 0xFF56;

constexpr std::uint8_t kMiddleButton = 2;
constexpr std::uint8_t kRightButton = 3;

}  // namespace lockstep::tests
