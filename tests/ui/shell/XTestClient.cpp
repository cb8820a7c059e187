#include "tests/ui/shell/XTestClient.h"

#include <xcb/xtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace lockstep::tests {
namespace {

template <typename T>
using Reply = std::unique_ptr<T, decltype(&std::free)>;

template <typename T>
Reply<T> own(T* reply) {
  return Reply<T>(reply, &std::free);
}

}  // namespace

XTestClient::XTestClient() {
  int number = 0;
  connection_ = xcb_connect(nullptr, &number);
  if (xcb_connection_has_error(connection_) != 0) {
    throw std::runtime_error("no X server to send input to; is DISPLAY set?");
  }
  xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(connection_));
  for (; number > 0; --number) xcb_screen_next(&screens);
  screen_ = screens.data;
  const auto version = own(xcb_test_get_version_reply(
      connection_, xcb_test_get_version(connection_, 2, 2), nullptr));
  if (!version) {
    throw std::runtime_error("the X server has no XTEST");
  }
  const xcb_setup_t* setup = xcb_get_setup(connection_);
  firstCode_ = setup->min_keycode;
  const auto mapping = own(xcb_get_keyboard_mapping_reply(
      connection_,
      xcb_get_keyboard_mapping(connection_, setup->min_keycode,
                               static_cast<std::uint8_t>(setup->max_keycode - firstCode_ + 1)),
      nullptr));
  keysymsPerCode_ = mapping->keysyms_per_keycode;
  const xcb_keysym_t* keysyms = xcb_get_keyboard_mapping_keysyms(mapping.get());
  keysyms_.assign(keysyms,
                  keysyms + xcb_get_keyboard_mapping_keysyms_length(mapping.get()));
}

XTestClient::~XTestClient() { xcb_disconnect(connection_); }

std::uint8_t XTestClient::keycode(xcb_keysym_t keysym) const {
  for (std::size_t i = 0; i < keysyms_.size(); i += keysymsPerCode_) {
    if (keysyms_[i] == keysym) {
      return static_cast<std::uint8_t>(firstCode_ + static_cast<int>(i) / keysymsPerCode_);
    }
  }
  throw std::runtime_error("the keyboard has no key for keysym " + std::to_string(keysym));
}

void XTestClient::send(std::uint8_t type, std::uint8_t detail, int x, int y) {
  xcb_test_fake_input(connection_, type, detail, XCB_CURRENT_TIME, screen_->root,
                      static_cast<std::int16_t>(x), static_cast<std::int16_t>(y), 0);
}

void XTestClient::settle() {
  xcb_flush(connection_);
  own(xcb_get_input_focus_reply(connection_, xcb_get_input_focus(connection_), nullptr));
}

void XTestClient::moveTo(int x, int y) {
  send(XCB_MOTION_NOTIFY, 0, x, y);
  settle();
}

void XTestClient::hold(const Keys& keys) {
  for (const xcb_keysym_t key : keys) send(XCB_KEY_PRESS, keycode(key));
}

void XTestClient::letGo(const Keys& keys) {
  for (auto it = keys.rbegin(); it != keys.rend(); ++it) send(XCB_KEY_RELEASE, keycode(*it));
}

void XTestClient::click(int x, int y, std::uint8_t button, const Keys& held) {
  moveTo(x, y);
  hold(held);
  send(XCB_BUTTON_PRESS, button);
  send(XCB_BUTTON_RELEASE, button);
  letGo(held);
  settle();
}

void XTestClient::doubleClick(int x, int y) {
  click(x, y);
  click(x, y);
}

void XTestClient::wheel(int x, int y, int notches, const Keys& held) {
  constexpr std::uint8_t kUp = 4;
  constexpr std::uint8_t kDown = 5;
  for (int i = 0; i < std::abs(notches); ++i) {
    click(x, y, notches > 0 ? kUp : kDown, held);
  }
}

void XTestClient::drag(int fromX, int fromY, int toX, int toY, std::uint8_t button,
                       const Keys& held) {
  moveTo(fromX, fromY);
  hold(held);
  send(XCB_BUTTON_PRESS, button);
  constexpr int kMoves = 8;
  for (int i = 1; i <= kMoves; ++i) {
    moveTo(fromX + (toX - fromX) * i / kMoves, fromY + (toY - fromY) * i / kMoves);
  }
  send(XCB_BUTTON_RELEASE, button);
  letGo(held);
  settle();
}

void XTestClient::key(xcb_keysym_t keysym, const Keys& modifiers) {
  hold(modifiers);
  send(XCB_KEY_PRESS, keycode(keysym));
  send(XCB_KEY_RELEASE, keycode(keysym));
  letGo(modifiers);
  settle();
}

Screenshot XTestClient::screenshot() {
  Screenshot shot;
  shot.width = screen_->width_in_pixels;
  shot.height = screen_->height_in_pixels;
  const auto image = own(xcb_get_image_reply(
      connection_,
      xcb_get_image(connection_, XCB_IMAGE_FORMAT_Z_PIXMAP, screen_->root, 0, 0,
                    screen_->width_in_pixels, screen_->height_in_pixels, ~0U),
      nullptr));
  if (!image) {
    throw std::runtime_error("the X server gives no picture of its screen");
  }
  const auto* data = reinterpret_cast<const std::uint32_t*>(xcb_get_image_data(image.get()));
  shot.pixels.resize(static_cast<std::size_t>(shot.width) * shot.height);
  for (std::size_t i = 0; i < shot.pixels.size(); ++i) shot.pixels[i] = data[i] & 0xFFFFFF;
  return shot;
}

std::optional<xcb_window_t> XTestClient::largestWindow() {
  const auto tree = own(xcb_query_tree_reply(connection_,
                                             xcb_query_tree(connection_, screen_->root), nullptr));
  if (!tree) {
    return std::nullopt;
  }
  std::optional<xcb_window_t> largest;
  int area = 1;  // helper windows are 1 by 1
  const xcb_window_t* children = xcb_query_tree_children(tree.get());
  for (int i = 0; i < xcb_query_tree_children_length(tree.get()); ++i) {
    const auto attributes = own(xcb_get_window_attributes_reply(
        connection_, xcb_get_window_attributes(connection_, children[i]), nullptr));
    const auto geometry = own(xcb_get_geometry_reply(
        connection_, xcb_get_geometry(connection_, children[i]), nullptr));
    if (attributes && geometry && attributes->map_state == XCB_MAP_STATE_VIEWABLE &&
        geometry->width * geometry->height > area) {
      area = geometry->width * geometry->height;
      largest = children[i];
    }
  }
  return largest;
}

xcb_atom_t XTestClient::atom(const std::string& name) {
  const auto reply = own(xcb_intern_atom_reply(
      connection_,
      xcb_intern_atom(connection_, 0, static_cast<std::uint16_t>(name.size()), name.c_str()),
      nullptr));
  return reply ? reply->atom : static_cast<xcb_atom_t>(XCB_ATOM_NONE);
}

bool XTestClient::hasIcon() {
  const auto window = largestWindow();
  if (!window) {
    return false;
  }
  const auto property = own(xcb_get_property_reply(
      connection_,
      xcb_get_property(connection_, 0, *window, atom("_NET_WM_ICON"), XCB_ATOM_CARDINAL, 0, 2),
      nullptr));
  return property && xcb_get_property_value_length(property.get()) > 0;
}

std::string XTestClient::title() {
  const auto window = largestWindow();
  if (!window) {
    return {};
  }
  constexpr std::uint32_t kWords = 256;
  const auto property = own(xcb_get_property_reply(
      connection_,
      xcb_get_property(connection_, 0, *window, atom("_NET_WM_NAME"), atom("UTF8_STRING"), 0,
                       kWords),
      nullptr));
  if (!property) {
    return {};
  }
  return {static_cast<const char*>(xcb_get_property_value(property.get())),
          static_cast<std::size_t>(xcb_get_property_value_length(property.get()))};
}

std::optional<ScreenRect> XTestClient::window() {
  const auto window = largestWindow();
  if (!window) {
    return std::nullopt;
  }
  const auto geometry =
      own(xcb_get_geometry_reply(connection_, xcb_get_geometry(connection_, *window), nullptr));
  if (!geometry) {
    return std::nullopt;
  }
  return ScreenRect{geometry->x, geometry->y, geometry->width, geometry->height};
}

}  // namespace lockstep::tests
